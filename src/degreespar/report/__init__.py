"""Result rows as text: tables and figures of documents are rendered, never typed."""
