"""Sections of the pages in docs, made of stored rows: Markdown tables (`layout`) and plots (`plots`)."""
