"""What a kernel that executes a page runs first: figures are drawn by night, too
(`night`). It runs in the page's own namespace, and leaves no name there."""

__import__("okbook_book.night").night.install()
