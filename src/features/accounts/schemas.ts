import { z } from 'zod'

const Email = z.email('Invalid email format').max(254, 'Invalid email format')

/** `POST /api/register` (Spec 4.2). `website` is the honeypot: people never see the field, so only programs fill it. */
export const RegisterRequest = z.object({
  email: z.string('Email and password required').trim().toLowerCase().min(1, 'Email and password required').pipe(Email),
  password: z
    .string('Email and password required')
    .min(1, 'Email and password required')
    .min(8, 'Password must be at least 8 characters')
    .max(1024, 'Password must be at most 1024 characters'),
  name: z.string('Name must be text').trim().max(100, 'Name must be at most 100 characters').optional(),
  website: z.string().max(2048).optional(),
})
export type RegisterRequest = z.infer<typeof RegisterRequest>

export const RegisterResponse = z.object({ id: z.string(), email: z.string(), name: z.string() })
export type RegisterResponse = z.infer<typeof RegisterResponse>

/** `POST /api/auth/login` (Spec 4.2). The password has no minimum here: an old short one must still be comparable. */
export const LoginRequest = z.object({
  email: z
    .string('Missing email or password')
    .trim()
    .toLowerCase()
    .min(1, 'Missing email or password')
    .max(254, 'Invalid email format'),
  password: z
    .string('Missing email or password')
    .min(1, 'Missing email or password')
    .max(1024, 'Password must be at most 1024 characters'),
})
export type LoginRequest = z.infer<typeof LoginRequest>

export const LoginResponse = z.object({ ok: z.literal(true), user: z.object({ id: z.string(), name: z.string() }) })
export type LoginResponse = z.infer<typeof LoginResponse>

/** `GET /api/auth/session` (Spec 4.2): `user` is null for everyone who is not signed in. */
export const SessionResponse = z.object({
  user: z.object({ id: z.string(), name: z.string(), email: z.string(), isAdmin: z.boolean() }).nullable(),
})
export type SessionResponse = z.infer<typeof SessionResponse>
