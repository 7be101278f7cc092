/** Returns the dotted paths of the fields of `value` that are null, without looking into lists. */
export function listNulls(value: object, path = ''): string[] {
  return Object.entries(value).flatMap(([name, field]): string[] => {
    const here = path === '' ? name : `${path}.${name}`
    if (field === null) return [here]
    return typeof field === 'object' && !Array.isArray(field) ? listNulls(field, here) : []
  })
}
