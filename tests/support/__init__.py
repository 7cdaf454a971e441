"""Parts that tests share: clocks, signers, faulty stores, a running gateway and a plain HTTP client."""
