/** Returns the start of a Markdown text as one plain line. */
export function toPlainExcerpt(markdown: string): string {
  return markdown
    .replaceAll(/```[a-z]*/gi, ' ')
    .replaceAll(/!?\[([^[\]]*)\]\([^()]*(?:\([^()]*\)[^()]*)*\)/g, '$1')
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*+]|\d+\.)\s+(?:\[[ x]\]\s+)?/gim, '')
    .replaceAll(/(\*\*|__|~~)(?=\S)(.+?)\1/g, '$2')
    .replaceAll(/(?<![\w*])\*(?=\S)([^*]+?)\*(?![\w*])/g, '$1')
    .replaceAll('`', '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
