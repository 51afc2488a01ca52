"""The rubric in English: every rule of SLICE-Mem A.5 in this project's own words."""

GUIDE = """\
You are one annotator among several, and you work alone. Follow the guide below. Answer with JSON and nothing else.

GUIDE: WHAT A TURN ADDS TO A CONVERSATIONAL MEMORY
You see [CONTEXT], the messages before a turn, and [TARGET], the turn that you judge. Work out which core \
proposition the target adds for a general-purpose memory of conversations.
- The context serves one end: to resolve what the target points at, leaves out, contrasts with, chooses from, or \
dates relatively. What only the context says is no contribution of the target.
- Judge by meaning alone. Labels that a data set may carry, habits of a test set, how many of each class there \
should be, the length of the sentence, and single words are no grounds. Do not infer what the words do not support.

You make three judgements, each apart from the others:
1. primary_memory_type: what kind of proposition the target adds;
2. context_dependency: whether the target alone gives the same proposition;
3. candidate_memory: whether keeping the proposition may help in later turns or sessions.
A type that fits does not make a turn worth keeping. The gate that learns from you learns candidate_memory only.

STEP 1. Recover the proposition
Name what the target states, confirms, corrects, chooses, promises or updates. Judge this turn's contribution, not \
the topic of the dialogue. When the turn mainly asks, thanks, greets, acknowledges or shows a feeling, take the \
clauses that hang on it as secondary, unless they clearly state a fact, a preference, a plan or a promise that can \
be kept.

STEP 2. Choose exactly one primary_memory_type
- personal_semantic: lasting or generalisable knowledge about the speaker of the target: identity, relationships, \
preferences, habits, abilities, values, long-term limits and states. As a rule it is not bound to one occasion.
- autobiographical_episodic: one bounded event or experience of the speaker, at some occasion, situation, time or \
place. It tells what happened once; whether that deserves keeping is another question.
- prospective: what the speaker of the target intends, plans, aims at, has promised, has an appointment or a \
deadline for, or is expected to do. A corrected plan stays prospective. A joint arrangement counts when the \
speaker commits to it and that commitment is the main news.
- non_memory: nothing personal that could be kept: greetings, thanks, acknowledgements, general questions, small \
talk, mere repetition, guesses without support, hearsay or gossip said to ask or to keep the talk going, or a \
reply that only confirms or repeats what the context has settled and adds neither a lasting fact nor a promise.
In short: lasting knowledge of the person is personal_semantic; one bounded event is autobiographical_episodic; \
the speaker's own future action is prospective; everything else is non_memory.
When several fit, take the one with the greatest value later: first the speaker's plan or promise, then lasting \
knowledge of the person, then the bounded event. Do not raise a single experience to personal_semantic unless the \
target itself states the general preference, habit, value or long-term state. Passing interest, rumours and \
"people say it is good" are no lasting preferences.

STEP 3. Cover the context and read the target again
- self_contained: the target alone gives the same core proposition, with the people, events, options and times \
that are needed to keep it correctly.
- context_dependent: without the context the core proposition is incomplete, ambiguous or clearly another one. If \
it takes the context to know whom a pronoun means, what was left out, or which plan, order or option is spoken of, \
it is context_dependent. Pronouns, omissions and short replies point that way but do not decide it. When the \
context is {none}, do not make up what is missing.

STEP 4. Decide candidate_memory
true only when keeping the target's contribution may improve later continuity, personalisation, consistency of \
facts, fitting follow-ups or the completion of open plans and promises, and when this benefit outlasts the next \
few minutes of the exchange.
false for:
- small talk, thanks, greetings, acknowledgements and general questions;
- turns that are mainly a question, even if they name a subject of interest;
- rumours and shallow opinions that only keep the talk going;
- actions that matter for the next few minutes and then expire, such as picking up this order, "almost there", or \
a command of the moment;
- trivial single events and experiences without lasting value;
- vague events whose decisive content is not given;
- facts that only the context states;
- readings that need an unsupported inference.
Anecdotes of travel, work and daily life are false by default, unless the target itself frames them as lasting \
knowledge of the person or as a promise still open.

STEP 5. Calibration (context / target -> primary_memory_type, context_dependency, candidate_memory)
{calibration}

STEP 6. Answer
Return exactly one JSON object, no Markdown, no other fields:
{{"primary_memory_type": "prospective", "context_dependency": "context_dependent", "candidate_memory": true, \
"confidence": 0.91, "evidence": ["words copied from the target"], "reason": "One short sentence."}}
- primary_memory_type: one of the four names above. context_dependency: self_contained or context_dependent.
- candidate_memory: a JSON boolean; with non_memory it is false.
- confidence: a number from 0 to 1.
- evidence: one to three non-empty excerpts, copied from the target character for character, capitals and \
punctuation included.
- reason: one short sentence that rests on the target and uses the context only where it must.
Think it through silently; write the JSON only."""

CORRECTION = """\
Your answer cannot be used:
{faults}
The target once more:
{target}
Return the corrected JSON object, complete and alone."""
