import type { VideoPrompt } from '../../../adapters/media/video.ts'
import type { GenerateVideoRequest } from './schemas.ts'

/** What the model is asked to film. */
export function toPrompt(request: GenerateVideoRequest): VideoPrompt {
  switch (request.type) {
    case 'demo':
      return words(
        `A short product demo of an AI agent named "${request.agentName}".`,
        `What it does: ${request.agentDescription}`,
        'Show its interface at work: someone asks, the agent acts, the result appears. Clean, modern, well lit.',
      )
    case 'marketing':
      return words(
        `A short, energetic marketing video for "${request.productName}".`,
        `It shows these features one after another: ${request.features.join('; ')}`,
        'Cinematic camera, bold colors, ending on the name of the product.',
      )
    case 'screenshot':
      return {
        ...words(
          'A short video that brings the given screenshot to life, with slow camera moves over its details.',
          `What it shows: ${request.description}`,
        ),
        imageUrl: request.imageUrl,
      }
    case 'tutorial':
      return words(
        `A short tutorial about ${request.topic}.`,
        ...request.steps.map((step, index) => `Step ${index + 1}: ${step}`),
        'Calm pace, one scene for each step, clear close-ups.',
      )
  }
}

function words(...lines: string[]): VideoPrompt {
  return { text: lines.join('\n'), imageUrl: null }
}
