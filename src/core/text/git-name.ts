/** HFS+ ignores these characters in names. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu
/**
 * Some file systems ignore case, trailing dots and spaces, have short names, or treat text after a colon as a stream.
 */
const GIT_NAME = /^(?:\.git|git~[0-9]+)[ .]*(?::.*)?$/isu

/** Returns whether any file system could treat the name as `.git`. */
export function isGitName(name: string): boolean {
  return GIT_NAME.test(name.replace(IGNORED_BY_HFS, ''))
}
