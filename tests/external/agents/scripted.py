"""A small agent that speaks chat completions: `scripted.py BEHAVIOUR BASE_URL MODEL PROMPT`. Needs nothing but Python."""

# ruff: noqa: S310 (the address is the test's own)

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

BEHAVIOUR, BASE_URL, MODEL, PROMPT = sys.argv[1:5]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "bash",
            "description": f"Run a command. Today is {time.strftime('%Y-%m-%d')}, process {os.getpid()}.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
        },
    }
]
SYSTEM = os.environ.get("SYSTEM_PROMPT", "You are scripted.")
messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]


def ask():
    body = json.dumps({"model": MODEL, "messages": messages, "tools": TOOLS}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY')}"}
    request = urllib.request.Request(f"{BASE_URL}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["choices"][0]["message"]


def work():
    while True:
        message = ask()
        messages.append(message)
        if not message.get("tool_calls"):
            return
        for call in message["tool_calls"]:
            command = json.loads(call["function"]["arguments"])["command"]
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            said = done.stdout + done.stderr
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})


def show():
    print(json.dumps({"messages": messages}), flush=True)


def stream(*events):
    for event in events:
        print(json.dumps(event), flush=True)


def never_asks():
    print("I cannot find my configuration", file=sys.stderr)


def loads():
    print("loading", file=sys.stderr, flush=True)
    time.sleep(3600)


def fails():
    messages.append(ask())
    print("something broke", file=sys.stderr)
    sys.exit(3)


def hangs():
    messages.append(ask())
    time.sleep(3600)


def asks_at_once():
    def one():
        try:
            ask()
        except urllib.error.HTTPError as error:
            print(error.read().decode(), file=sys.stderr)

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def asks_a_question():
    messages.append(ask())
    answer = ""
    while answer != "yes":
        print("Shall I go on? [yes/no]", flush=True)
        answer = sys.stdin.readline().strip()
        time.sleep(0.05)


def lies():
    ask()
    stream({"type": "turn.started"}, {"type": "turn.failed", "error": {"message": "the model is overloaded"}})


def capped():
    ask()
    stream(
        {"type": "assistant", "message": {"id": "1", "content": [{"type": "text", "text": "so far"}]}},
        {"type": "result", "subtype": "error_max_turns", "is_error": True, "num_turns": 1},
    )


def boasts():
    ask()
    stream(
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "all is well"}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}},
    )


def leaves_children():
    work()
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    show()


def floods():
    ask()
    for _ in range(100):
        sys.stdout.write("x" * 1024 * 1024 + "\n")


def is_silent():
    work()


def mumbles():
    work()
    print("done, I think")


def eats_memory():
    ask()
    held = bytearray(1024**3)
    time.sleep(3600)  # until it is seen
    print(len(held))


def dies():
    ask()
    os.kill(os.getpid(), signal.SIGKILL)


def insists():
    while True:
        try:
            ask()
        except urllib.error.HTTPError as error:
            print(error.code, error.read().decode(), file=sys.stderr)
            time.sleep(0.2)


def tells_secrets():
    work()
    print(json.dumps({"messages": [*messages[:2], {"role": "assistant", "content": json.dumps(dict(os.environ))}]}))


def plain():
    work()
    show()


globals()[BEHAVIOUR]()
