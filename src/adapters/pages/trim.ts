/** Beyond these limits the parser's cost grows faster than the page; real pages stay below. */
const MAX_MARKS = 40_000
const MAX_DEPTH = 500

/** Elements that need no end tag, so their start tag does not increase the depth. */
const WITHOUT_END = new Set(
  (
    'area base br col embed hr img input link meta param source track wbr ' +
    'p li dt dd td th tr thead tbody tfoot option optgroup colgroup rt rp html head body'
  ).split(' '),
)
const TAG_NAME = /\/?[a-z][a-z0-9]*/iy

/** Cuts `html` before its tags and entities become too many or too deep. `marks` is their approximate number. */
export function trimPage(html: string): { html: string; marks: number } {
  const open: string[] = []
  let marks = 0
  let tag = html.indexOf('<')
  let entity = html.indexOf('&')
  while (tag !== -1 || entity !== -1) {
    const isTag = entity === -1 || (tag !== -1 && tag < entity)
    const at = isTag ? tag : entity
    if (isTag) noteTag(open, html, at + 1)
    if (++marks > MAX_MARKS || open.length > MAX_DEPTH) return { html: html.slice(0, at), marks }
    if (isTag) tag = html.indexOf('<', at + 1)
    else entity = html.indexOf('&', at + 1)
  }
  return { html, marks }
}

/**
 * Tracks the names of open elements. An end tag also closes the elements inside; one without a start tag is ignored.
 */
function noteTag(open: string[], html: string, at: number): void {
  TAG_NAME.lastIndex = at
  if (!TAG_NAME.test(html)) return
  const isEnd = html[at] === '/'
  const name = html.slice(isEnd ? at + 1 : at, TAG_NAME.lastIndex).toLowerCase()
  if (WITHOUT_END.has(name)) return
  if (!isEnd) open.push(name)
  else if (open.at(-1) === name) open.pop()
  else if (open.includes(name)) open.length = open.lastIndexOf(name)
}
