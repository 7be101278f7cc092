import { z } from 'zod'

/** `GET /api/chat/turns`. */
export const ChatTurnsAnswer = z.object({
  turns: z.array(
    z.object({
      id: z.string(),
      agentId: z.string(),
      sessionId: z.string().nullable(),
      questionId: z.string(),
      replyId: z.string().nullable(),
      state: z.enum(['running', 'stopped', 'failed', 'done']),
      error: z.string().nullable(),
      message: z.string(),
      text: z.string(),
      position: z.number(),
      toolCalls: z.array(
        z.object({
          name: z.string(),
          arguments: z.string(),
          result: z.string(),
          success: z.boolean(),
          durationMs: z.number(),
        }),
      ),
      model: z.string().nullable(),
      inputTokens: z.number().nullable(),
      outputTokens: z.number().nullable(),
      costUsd: z.number().nullable(),
      durationMs: z.number().nullable(),
      endedBy: z.enum(['loop', 'cost', 'steps']).nullable(),
      createdAt: z.string(),
      finishedAt: z.string().nullable(),
    }),
  ),
})

/** `GET /api/chat/turns/:id`. */
export const ChatTurnAnswer = z.object({
  turn: z.object({
    id: z.string(),
    agentId: z.string(),
    sessionId: z.string().nullable(),
    questionId: z.string(),
    replyId: z.string().nullable(),
    state: z.enum(['running', 'stopped', 'failed', 'done']),
    error: z.string().nullable(),
    message: z.string(),
    text: z.string(),
    position: z.number(),
    toolCalls: z.array(
      z.object({
        name: z.string(),
        arguments: z.string(),
        result: z.string(),
        success: z.boolean(),
        durationMs: z.number(),
      }),
    ),
    model: z.string().nullable(),
    inputTokens: z.number().nullable(),
    outputTokens: z.number().nullable(),
    costUsd: z.number().nullable(),
    durationMs: z.number().nullable(),
    endedBy: z.enum(['loop', 'cost', 'steps']).nullable(),
    createdAt: z.string(),
    finishedAt: z.string().nullable(),
  }),
})
