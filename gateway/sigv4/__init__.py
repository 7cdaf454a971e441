"""AWS Signature Version 4 on the server: bytes, secret and instant in, verdict out.

No I/O, no clock, no HTTP library. `examine` checks everything that needs no secret and returns a Claim;
`SigningKeys.prove` checks the claim's signature.

authorization    the Authorization field and the instant of signing, parsed
signing          canonical request, signing keys, comparison
verification     the rules, in their order
"""

from gateway.sigv4.authorization import stated_access_key_id
from gateway.sigv4.signing import Claim, SigningKeys
from gateway.sigv4.verification import SignatureRules, examine

__all__ = ["Claim", "SignatureRules", "SigningKeys", "examine", "stated_access_key_id"]
