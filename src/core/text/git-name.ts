/** HFS+ compares names without these characters. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu
/** Some file systems ignore case, trailing dots and spaces, know short names, or take what follows a colon for a stream. */
const GIT_NAME = /^(?:\.git|git~[0-9]+)[ .]*(?::.*)?$/isu

/** Returns whether any file system could take the name of a file or folder for `.git`. */
export function isGitName(name: string): boolean {
  return GIT_NAME.test(name.replace(IGNORED_BY_HFS, ''))
}
