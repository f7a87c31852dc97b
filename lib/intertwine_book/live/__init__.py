"""Instruments that run small trained networks in a page, under the reader's hand."""
