const WORDS = `<p>${'Some words of an article, long enough to be found. '.repeat(20)}</p>`

export const PLAIN_PAGE = `<title>Plain</title><article>${WORDS}</article>`

/** Pages that compress well and keep a library busy for hours, mostly in a single call of a regular expression. */
export const HOSTILE_PAGES = {
  'an attribute srcset holds one long word (Readability)': `<article>${WORDS}<img srcset="${'a'.repeat(450_000)} b"></article>`,
  'a block of code holds many empty lines (Turndown)': `<article>${WORDS}<pre><code>x${'\n'.repeat(900_000)}y</code></pre>${WORDS}</article>`,
  'a paragraph holds many non-breaking spaces (Turndown)': `<article>${WORDS}<p>x${'\u00a0'.repeat(700_000)}y</p>${WORDS}</article>`,
}
