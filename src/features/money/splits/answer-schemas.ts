import { z } from 'zod'
import { SplitDetail } from './schemas.ts'

/** `GET /api/underground/splits/:id`. */
export const UndergroundSplitAnswer = z.object({ split: SplitDetail })

/** `POST /api/underground/wallets`. */
export const UndergroundWalletsAnswer = z.object({ address: z.string(), agentId: z.string(), userId: z.string() })

/** `GET /api/underground/wallets/:address/balance`. */
export const UndergroundWalletBalanceAnswer = z.object({ address: z.string(), balance_usdc: z.number() })
