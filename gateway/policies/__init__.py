"""The policies, one file each. They know no HTTP and not each other; `gateway.pipeline` orders them."""
