"""AWS Signature Version 4, seen from the server: bytes, secret and instant in, verdict out.

No I/O, no clock, no HTTP library. `examine` checks all that can be checked
without a secret and returns a Claim; `SigningKeys.prove` checks the claim's signature.

authorization    the Authorization field, taken apart
instant          X-Amz-Date and Date
canonical        the canonical request (AWS: "Create a canonical request")
verification     the rules, in the order in which they answer
keys             signing keys, derived once per secret and day
"""

from gateway.sigv4.verification import Claim, Rules, SigningKeys, examine

__all__ = ["Claim", "Rules", "SigningKeys", "examine"]
