import { z } from 'zod'
import { parseMicroUsd } from '../../../core/money.ts'
import { webUrl } from '../../../core/text/names.ts'
import { WalletPayment } from '../wallets/schemas.ts'

const BAD_MAX = 'maxAmount must be a decimal number of dollars, above 0 and at most 100'
const MAX_MICRO_USD = 100_000_000
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const HEADER_NAME = /^(?!payment-|x-payment)[a-z0-9-]{1,64}$/i

/** A request to a server that may demand payment; `maxAmount` limits the cost. */
export const PaidCall = z
  .object({
    url: webUrl('url must be an http or https URL', { max: 2048, tooLong: 'url is too long' }),
    method: z.enum(METHODS, `method must be ${METHODS.join(', ')}`).default('GET'),
    headers: z
      .record(z.string().regex(HEADER_NAME, 'headers have a name that is not allowed'), z.string().max(4096))
      .default({}),
    body: z.string('body must be text').max(500_000, 'body is too long').optional(),
    maxAmount: z
      .union([z.string(), z.number()], BAD_MAX)
      .transform((amount, context) => {
        const microUsd = parseMicroUsd(amount)
        if (microUsd !== null && microUsd > 0 && microUsd <= MAX_MICRO_USD) return microUsd
        context.addIssue({ code: 'custom', message: BAD_MAX })
        return z.NEVER
      })
      .default(1_000_000),
  })
  .meta({ examples: [{ url: 'https://api.example.com/report', method: 'GET', maxAmount: '0.05' }] })
export type PaidCall = z.infer<typeof PaidCall>

/** The same request by a user, from an agent's wallet or their own. */
export const OwnPaidCall = PaidCall.extend({ agentId: z.string().min(1).max(100).optional() })

/** Response of the seller's server. */
export const HttpResponse = z.object({
  status: z.number(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})

/** `response` is null while the payment waits for approval; `payment` is null when the request was free. */
export const PaidCallResult = z.object({ response: HttpResponse.nullable(), payment: WalletPayment.nullable() })
