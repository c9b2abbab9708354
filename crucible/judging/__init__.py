"""The judge: blinded evidence, protocol, clamps.

The way through: `blinding.secrets_of` and `digest.digest` prepare an attempt, `judge.judge_attempt` asks
(evidence -> protocol -> model -> parse -> clamps), `facts.score_facts` measures instead of asking,
`total.total` combines, `versions` names what a score was made with.
"""
