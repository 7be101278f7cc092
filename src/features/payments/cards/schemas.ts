import { z } from 'zod'

/** The page of the card service on which one pays; nothing has changed yet. */
export const PaymentPage = z.object({ url: z.string() })
