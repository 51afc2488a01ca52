"""The salience gate at run time (SLICE-Mem section 3.1): probabilities for user turns, from an exported bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from engrain.runtime.bundle import BundleManifest, load_bundle
from engrain.runtime.encoder import INT8_FILE, MODEL_FILE, TOKENIZER_FILE, EncoderSession
from engrain.runtime.errors import BundleError, InputError
from engrain.runtime.gate_calibration import Calibration, sigmoid
from engrain.runtime.gate_cascade import FIRST_STAGE_FILE, FirstStage
from engrain.runtime.gate_input import TEMPLATE_HASH, Pair, pack_batch, prepare_tokenizer


class Gate:
    """Scores user turns with their context. Make one with `Gate.load`."""

    def __init__(
        self,
        manifest: BundleManifest,
        tokenizer: Tokenizer,
        session: EncoderSession,
        first_stage: FirstStage | None = None,
        cascade: bool = False,
    ) -> None:
        if manifest.k is None or manifest.threshold is None:
            raise BundleError(f"the gate bundle '{manifest.name}' lacks k or a threshold; export it again")
        self.manifest = manifest
        self.k: int = manifest.k
        self.threshold: float = manifest.threshold.value
        self._calibration = manifest.calibration or Calibration()
        self.context_tokens_cut = 0
        self.targets_cut = 0
        self.rejected_early = 0
        self._first_stage, self._cascade = first_stage, cascade and first_stage is not None
        self._tokenizer, self._session = tokenizer, session

    @classmethod
    def load(
        cls,
        folder: str | Path,
        threads: int | None = None,
        precision: Literal["fp32", "int8"] = "fp32",
        cascade: bool = False,
    ) -> Gate:
        """Open a gate bundle after verifying every hash in it. `threads` limits ONNX Runtime; empty takes all cores.

        `precision` int8 takes the quantised weights, which are faster and rank almost alike; `cascade` lets the
        bundle's first stage reject the obvious before the encoder looks. Raises `BundleError` for
        an altered bundle, one without the weights asked for, or one whose input template is not this version's.
        """
        folder, manifest = load_bundle(folder, "gate")
        if manifest.template_hash != TEMPLATE_HASH:
            raise BundleError(f"{folder} was trained with another input template; train and export the gate again")
        tokenizer = prepare_tokenizer(Tokenizer.from_file(str(folder / TOKENIZER_FILE)))
        file = INT8_FILE if precision == "int8" else MODEL_FILE
        if file not in manifest.files:
            raise BundleError(f"{folder} has no {precision} weights ({file}); export the gate again, with int8")
        if cascade and FIRST_STAGE_FILE not in manifest.files:
            raise BundleError(f"{folder} has no first stage; train with first_stage_recall and export the gate again")
        first_stage = FirstStage.load(folder / FIRST_STAGE_FILE) if FIRST_STAGE_FILE in manifest.files else None
        return cls(manifest, tokenizer, EncoderSession.open(folder, threads, file), first_stage, cascade)

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """Admission probabilities, N, for (context oldest first, target) pairs; equation 1's p_t, calibrated as the
        bundle says.

        A context may be longer than k. The result of a pair does not depend on the others or on their order. What did
        not fit is added to `context_tokens_cut` and `targets_cut`; turns that a cascade's first stage rejects have
        probability 0 and are counted in `rejected_early`. Raises `InputError` for an empty target.
        """
        if self._first_stage is None or not self._cascade:
            return self._encode(pairs)
        for _, target in pairs:
            if not target.text.strip():
                raise InputError("the target turn is empty; only turns with text can be scored")
        passed = [place for place, (_, target) in enumerate(pairs) if self._first_stage.passes(target.text)]
        self.rejected_early += len(pairs) - len(passed)
        probabilities = np.zeros(len(pairs))
        probabilities[passed] = self._encode([pairs[place] for place in passed])
        return probabilities

    def _encode(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        if not pairs:
            return np.zeros(0)
        packed = pack_batch(self._tokenizer, pairs, k=self.k, max_length=self.manifest.max_length)
        self.context_tokens_cut += sum(row.context_tokens_cut for row in packed)
        self.targets_cut += sum(1 for row in packed if row.target_tokens_cut)
        logits = self._session.run([row.ids for row in packed]).astype(np.float64)
        if self._first_stage is not None:
            logits = self._first_stage.add(logits, [target.text for _, target in pairs])
        return self._calibration.apply(sigmoid(logits))
