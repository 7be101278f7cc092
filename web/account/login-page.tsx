import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate, useRouter } from '@tanstack/react-router'
import { Wallet as WalletIcon } from 'lucide-react'
import { useState } from 'react'
import { z } from 'zod'
import { LoginRequest } from '../../src/features/accounts/registration/schemas.ts'
import { ApiError, hasCode } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { CodeField, PasswordField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { AuthFrame } from './auth-frame.tsx'
import { describeSignInError } from './return-path.ts'
import { SecondFactorPage } from './second-factor-page.tsx'
import { providersQuery, signIn } from './session.ts'
import { findBrowserWallet, signInWithWallet, type Wallet } from './wallet.ts'

const route = getRouteApi('/login')

const LoginWithCode = LoginRequest.extend({ code: z.string().trim().min(1).max(64) })

const finished = {
  signup: 'Your account is ready',
  reset: 'Password changed',
  deleted: 'Account deleted',
}

/** Page `/login`. */
export function LoginPage() {
  const { step, redirect } = route.useSearch()
  const [isCodeAsked, setCodeAsked] = useState(false)
  if (step === 'two-factor') return <SecondFactorPage />
  return (
    <AuthFrame
      title={isCodeAsked ? 'Two-factor authentication' : 'Sign in'}
      lead={isCodeAsked ? 'Enter the code from your authenticator app.' : <SignupHint />}
    >
      <Remarks />
      <LoginForm isCodeAsked={isCodeAsked} setCodeAsked={setCodeAsked} />
      {!isCodeAsked && <OtherWays redirect={redirect} />}
    </AuthFrame>
  )
}

type LoginFormProps = { isCodeAsked: boolean; setCodeAsked: (isAsked: boolean) => void }

/** Keeps the first step's input while the second factor is asked for. */
function LoginForm({ isCodeAsked, setCodeAsked }: LoginFormProps) {
  const router = useRouter()
  const { redirect } = route.useSearch()
  const form = useForm<LoginRequest>(
    isCodeAsked ? LoginWithCode : LoginRequest,
    async (credentials) => {
      try {
        await signIn(credentials)
      } catch (error) {
        if (!hasCode(error, 'TWO_FACTOR_REQUIRED')) throw error
        return setCodeAsked(true)
      }
      router.history.push(redirect ?? '/')
    },
    (error) => (hasCode(error, 'TWO_FACTOR_INVALID') ? 'code' : null),
  )
  return (
    <Form form={form} className="grid gap-4">
      <div className={isCodeAsked ? 'hidden' : 'grid gap-4'}>
        <TextField label="Email" name="email" type="email" autoComplete="username" autoFocus />
        <PasswordField label="Password" name="password" autoComplete="current-password" />
        <Link to="/forgot-password" className="-mt-2 justify-self-start text-sm text-accent underline">
          Forgot your password?
        </Link>
      </div>
      {isCodeAsked && <CodeField label="Code" />}
      <Button type="submit" look="primary" isPending={form.isPending} className="mt-1 min-h-10">
        Sign in
      </Button>
      {isCodeAsked && (
        <Button look="ghost" onClick={() => setCodeAsked(false)}>
          Use a different account
        </Button>
      )}
    </Form>
  )
}

function SignupHint() {
  const { redirect } = route.useSearch()
  return (
    <>
      No account yet?{' '}
      <Link to="/signup" search={redirect ? { redirect } : {}} className="font-medium text-accent underline">
        Sign up
      </Link>
    </>
  )
}

function Remarks() {
  const { error, done } = route.useSearch()
  if (error) {
    return (
      <Notice tone="problem" title="Sign-in failed">
        {describeSignInError(error)}
      </Notice>
    )
  }
  if (!done) return null
  return (
    <Notice tone="good" title={finished[done]}>
      {done === 'deleted' ? 'All of its data was permanently deleted.' : 'Sign in to continue.'}
    </Notice>
  )
}

/** Hides the methods that the server or the browser does not support. */
export function OtherWays({ redirect }: { redirect: string | undefined }) {
  const providers = useQuery(providersQuery).data
  const wallet = findBrowserWallet()
  const isWalletOffered = Boolean(providers?.wallet && wallet)
  if (!providers?.idpA && !providers?.idpB && !isWalletOffered) return null
  return (
    <section aria-label="Other ways to sign in" className="grid gap-2.5">
      <p
        aria-hidden
        className="flex items-center gap-3 text-sm text-muted before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line"
      >
        or
      </p>
      {providers?.idpA && (
        <a href="/api/auth/idp-a" className={`${buttonClass('plain')} min-h-10`}>
          Continue with {providers.idpAName ?? 'your code hosting account'}
        </a>
      )}
      {providers?.idpB && (
        <a href="/api/auth/idp-b" className={`${buttonClass('plain')} min-h-10`}>
          Continue with {providers.idpBName ?? 'your identity provider'}
        </a>
      )}
      {providers && wallet && isWalletOffered && (
        <WalletButton wallet={wallet} chainId={providers.siweChainId} redirect={redirect} />
      )}
    </section>
  )
}

type WalletButtonProps = { wallet: Wallet; chainId: number; redirect: string | undefined }

export function WalletButton({ wallet, chainId, redirect }: WalletButtonProps) {
  const router = useRouter()
  const navigate = useNavigate()
  const signing = useMutation({
    mutationFn: () => signInWithWallet(wallet, chainId),
    onSuccess: () => router.history.push(redirect ?? '/'),
    onError: (error) => {
      if (!hasCode(error, 'TWO_FACTOR_REQUIRED')) return
      void navigate({ to: '/login', search: { step: 'two-factor', ...(redirect ? { redirect } : {}) } })
    },
  })
  return (
    <>
      <Button Icon={WalletIcon} className="min-h-10" isPending={signing.isPending} onClick={() => signing.mutate()}>
        Continue with wallet
      </Button>
      {signing.isError && <Notice tone="problem">{describe(signing.error)}</Notice>}
    </>
  )
}

/** Wallet errors differ by vendor; the remedy is the same. */
function describe(error: Error): string {
  return error instanceof ApiError ? error.message : 'The wallet did not sign. Unlock it and try again.'
}
