// What an app finds in its environment; the calls to make are handed over by the test.

export const { SERVICE_KVS_REGION: region, SERVICE_KVS_URL: baseUrl } = process.env;

export const credentials = {
  accessKeyId: process.env.AWS_ACCESS_KEY_ID,
  secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
  sessionToken: process.env.AWS_SESSION_TOKEN,
};

const headers = {
  "Content-Type": "application/json",
  "X-KVS-Authorization": `Bearer ${process.env.SERVICE_KVS_TOKEN_SESSIONS}`,
};

/** Makes the calls with `post`, which signs and sends, and prints their answers. */
export async function makeCalls(post) {
  const answers = [];
  for (const [operation, fields] of JSON.parse(process.argv[2])) {
    const url = new URL(`${baseUrl}/v1/${operation}`);
    answers.push(await post(url, { ...headers }, JSON.stringify(fields)));
  }
  console.log(JSON.stringify(answers));
}
