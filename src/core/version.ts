import { version } from '../../package.json'

/** The version of this program, as `package.json` has it. */
export const VERSION: string = version
