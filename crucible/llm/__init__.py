"""Models: requests, replies, usage, price, retries. The only package that imports litellm."""
