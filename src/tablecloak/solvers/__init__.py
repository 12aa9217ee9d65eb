"""The cellar: solvers and compiled kernels. Nothing else imports them from outside."""
