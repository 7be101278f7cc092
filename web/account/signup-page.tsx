import { getRouteApi, Link, useNavigate, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { RegisterRequest } from '../../src/features/accounts/registration/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Patience } from '../ui/notice.tsx'
import { AuthFrame, Honeypot, IdentityFields } from './auth-frame.tsx'
import { OtherWays } from './login-page.tsx'
import { register, signIn } from './session.ts'

const route = getRouteApi('/signup')

/** Page `/signup`. */
export function SignupPage() {
  const { redirect, ref, invite } = route.useSearch()
  const [isInviteAsked, setInviteAsked] = useState(invite !== undefined)
  const createAccount = useCreateAccount(redirect)
  const form = useForm(
    RegisterRequest,
    async (account) => {
      try {
        await createAccount(account)
      } catch (error) {
        if (isAboutInvite(error)) setInviteAsked(true)
        throw error
      }
    },
    fieldOf,
  )
  return (
    <AuthFrame
      title="Create your account"
      lead={
        <>
          Already have an account?{' '}
          <Link to="/login" search={redirect ? { redirect } : {}} className="font-medium text-accent underline">
            Sign in
          </Link>
        </>
      }
    >
      <Form form={form} className="grid gap-4">
        <IdentityFields />
        {isInviteAsked && (
          <TextField
            label="Invite code"
            name="inviteCode"
            autoCapitalize="none"
            spellCheck={false}
            maxLength={64}
            defaultValue={invite}
          />
        )}
        {ref !== undefined && (
          <TextField
            label="Referral code"
            name="referralCode"
            spellCheck={false}
            maxLength={20}
            defaultValue={ref}
            hint="You and the person who referred you get credits once you confirm your email or make a payment."
          />
        )}
        <Honeypot />
        <Button type="submit" look="primary" isPending={form.isPending} className="mt-1 min-h-10">
          Create account
        </Button>
        <Patience isPending={form.isPending}>Verifying that you are human. This takes a few seconds.</Patience>
      </Form>
      {!isInviteAsked && <OtherWays redirect={redirect} />}
    </AuthFrame>
  )
}

function useCreateAccount(redirect: string | undefined) {
  const router = useRouter()
  const navigate = useNavigate()
  return async (account: RegisterRequest) => {
    await register(account)
    try {
      await signIn({ email: account.email, password: account.password })
    } catch {
      return navigate({ to: '/login', search: { done: 'signup', ...(redirect ? { redirect } : {}) } })
    }
    router.history.push(redirect ?? '/')
  }
}

function fieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  if (isAboutInvite(error)) return 'inviteCode'
  if (/referral/i.test(error.message)) return 'referralCode'
  if (error.status === 409 || /email/i.test(error.message)) return 'email'
  if (error.status === 400 && /password/i.test(error.message)) return 'password'
  return null
}

function isAboutInvite(error: unknown): boolean {
  return error instanceof ApiError && /invit/i.test(error.message)
}
