import { z } from 'zod'

/** `POST /api/auth/forgot-password`. */
export const AuthForgotPasswordAnswer = z.object({ message: z.string() })

/** `POST /api/auth/reset-password`. */
export const AuthResetPasswordAnswer = z.object({ keysEnded: z.number().optional(), message: z.string() })
