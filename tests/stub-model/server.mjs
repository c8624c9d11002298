// A model server for tests: OpenAI-compatible, on loopback, without a network.
//
// node server.mjs → prints its port on the first line, ends when its standard input ends.
// The model's name picks what happens:
//   ok             a short answer
//   slow-N         N chunks, one a second
//   hang           begins an answer and never ends it
//   cut            breaks the connection in the middle
//   empty          ends its turn without a word
//   length         is cut at the output limit
//   e400 … e500    that HTTP status
//   tool-bash      asks to run the command after `BASH:` in the prompt, then answers
//   tool-question  asks a question, then answers
//   goal-N         answers `GOAL: continue` N times, then `GOAL: reached`
// GET /requests → the requests so far, oldest first.

import http from 'node:http';

const seen = [];
let turns = 0;

const errors = {
  400: ['invalid_request_error', 'The request is malformed'],
  401: ['invalid_request_error', 'Incorrect API key provided'],
  429: ['rate_limit_error', 'Rate limit reached'],
  500: ['server_error', 'The server had an error'],
};

/** The text of the last message of a user. */
function lastPrompt(messages) {
  const content = messages.findLast((message) => message.role === 'user')?.content ?? '';
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('\n');
}

/** Writes the chunks of one streamed answer. */
class Answer {
  constructor(response, model) {
    this.response = response;
    this.head = { id: `answer-${++turns}`, object: 'chat.completion.chunk', created: 0, model };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
  }
  write(fields) {
    this.response.write(`data: ${JSON.stringify({ ...this.head, ...fields })}\n\n`);
  }
  say(content) {
    this.write({ choices: [{ index: 0, delta: { role: 'assistant', content } }] });
  }
  call(name, input) {
    const call = { index: 0, id: `call-${turns}`, type: 'function', function: { name, arguments: JSON.stringify(input) } };
    this.write({ choices: [{ index: 0, delta: { role: 'assistant', tool_calls: [call] } }] });
  }
  end(reason = 'stop') {
    this.write({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
    const usage = { prompt_tokens: 1200, completion_tokens: 30, total_tokens: 1230, prompt_tokens_details: { cached_tokens: 1000 } };
    this.write({ choices: [], usage });
    this.response.end('data: [DONE]\n\n');
  }
}

async function answer(body, response) {
  const { model, messages = [] } = body;
  const status = /^e(\d{3})$/.exec(model)?.[1];
  if (status) {
    const [type, message] = errors[status] ?? ['server_error', 'No such luck'];
    response.writeHead(Number(status), { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ error: { message, type, code: null, param: null } }));
  }
  const stream = new Answer(response, model);
  if (/title/i.test(JSON.stringify(messages[0]?.content ?? '')) && !body.tools?.length) {
    stream.say('A title');
    return stream.end();
  }
  const prompt = lastPrompt(messages);
  const usedTool = messages.some((message) => message.role === 'tool');
  if (model === 'tool-bash' && !usedTool) {
    const command = /BASH:(.*)/.exec(prompt)?.[1].trim() ?? 'true';
    stream.call('bash', { command, description: 'as asked' });
    return stream.end('tool_calls');
  }
  if (model === 'tool-question' && !usedTool) {
    const options = ['Red', 'Blue'].map((label) => ({ label, description: `the ${label} one` }));
    stream.call('question', { questions: [{ question: 'Which colour?', header: 'Colour', options }] });
    return stream.end('tool_calls');
  }
  if (model === 'empty') return stream.end();
  const goal = /^goal-(\d+)$/.exec(model)?.[1];
  if (goal) {
    const answers = messages.filter((message) => message.role === 'assistant').length;
    stream.say(answers < Number(goal) ? 'Some is done.\nGOAL: continue' : 'All is done.\nGOAL: reached');
    return stream.end();
  }
  stream.say('Hello ');
  if (model === 'hang') return;
  if (model === 'cut') return response.destroy();
  const seconds = Number(/^slow-(\d+)$/.exec(model)?.[1] ?? 0);
  for (let second = 0; second < seconds && !response.destroyed; second++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    stream.say(`tick ${second} `);
  }
  stream.say('from the stub.');
  stream.end(model === 'length' ? 'length' : 'stop');
}

const server = http.createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  if (request.url === '/requests') {
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify(seen));
  }
  if (!request.url.endsWith('/chat/completions')) {
    response.statusCode = 404;
    return response.end('{}');
  }
  const body = JSON.parse(text);
  seen.push({ model: body.model, prompt: lastPrompt(body.messages ?? []), effort: body.reasoning_effort });
  await answer(body, response);
});

server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
