import { z } from 'zod'
import { ColonyDiagnostics, ColonySoul, ColonyTree } from './schemas.ts'

/** `GET /api/colony/status`. */
export const ColonyStatusAnswer = z.union([ColonyTree, ColonySoul, ColonyDiagnostics])
