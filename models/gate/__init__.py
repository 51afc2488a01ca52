"""The salience gate of SLICE-Mem (section 3.1): training, evaluation."""
