import { z } from 'zod'
import { EndpointList, Fitness, Pricing } from './schemas.ts'

/** `GET /api/x402`. */
export const X402Answer = z.record(z.string(), z.unknown())

/** `POST /api/x402`. */
export const NewX402Answer = z.union([EndpointList, z.record(z.string(), z.unknown()), Fitness, Pricing])
