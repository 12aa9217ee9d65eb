"""Other programs on the same problems, each in an environment of its own.

`process` makes the environments and runs scripts in them, `suppression` and `rounding` ask and judge. The scripts
`pytauargus`, `rounder`, `gconfid` and `ortools` are run by the Python of the peer; nothing of ours imports them.
"""
