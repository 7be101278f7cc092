const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c

/**
 * Lists the top-level keys of a JSON object, including duplicates: parsers differ in which duplicate they keep. `json`
 * must be valid.
 */
export function listTopLevelKeys(json: string): string[] {
  const keys: string[] = []
  let depth = 0
  let isKeyNext = false
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (code === QUOTE) {
      const end = findStringEnd(json, index + 1)
      if (isKeyNext) keys.push(readString(json, index, end))
      isKeyNext = false
      index = end
    } else if (code === 0x7b || code === 0x5b) {
      depth++
      isKeyNext = depth === 1
    } else if (code === 0x7d || code === 0x5d) {
      depth--
    } else if (code === COMMA) {
      isKeyNext = depth === 1
    }
  }
  return keys
}

/** Returns the index of the closing quote: the first one after an even number of backslashes. */
function findStringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return json.length
}

function readString(json: string, start: number, end: number): string {
  const raw = json.slice(start + 1, end)
  return raw.includes('\\') ? JSON.parse(`"${raw}"`) : raw
}
