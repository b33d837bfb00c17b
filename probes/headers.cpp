// Takes part in no program: what is precompiled needs a target of its own.
