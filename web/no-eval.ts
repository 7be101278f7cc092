import { config } from 'zod'

// The content security policy forbids `new Function`; zod must know before the first schema is built.
config({ jitless: true })
