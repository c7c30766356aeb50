#!/usr/bin/env php
<?php
// Sends one notification to Carillon and waits for its status: producer.php ENDPOINT APP TOKEN [TEXT [ID]]
//
// Exit status: 0 accepted or duplicate, 1 rejected, 75 no final answer (keep the message and run this again with the
// same ID: each device receives it once). The variable PATIENCE is the time limit in seconds (60).
// Needs php-cli and php-zmq.
declare(strict_types=1);

const ANSWER_TIME = 2.0; // seconds after which the request is sent again

function now(): float { return hrtime(true) / 1e9; }

/** Returns the final ack, or null after `$patience` seconds without one. */
function push(string $endpoint, array $envelope, float $patience): ?array
{
    $socket = new ZMQSocket(new ZMQContext(), ZMQ::SOCKET_DEALER);
    $socket->setSockOpt(ZMQ::SOCKOPT_LINGER, 0);
    $socket->setSockOpt(ZMQ::SOCKOPT_SNDTIMEO, (int) (ANSWER_TIME * 1000));
    $socket->setSockOpt(ZMQ::SOCKOPT_RCVTIMEO, (int) (ANSWER_TIME * 1000));
    $socket->setSockOpt(ZMQ::SOCKOPT_IMMEDIATE, 1); // Nothing is queued for a connection that does not exist yet.
    $socket->connect($endpoint);
    $request = json_encode($envelope, JSON_THROW_ON_ERROR);
    $deadline = now() + $patience;
    while (now() < $deadline) {
        // Both calls return false when their time is over: no connection, or no answer. Then the same request is sent
        // again, with the same id.
        if ($socket->sendMulti(['push/1', $request]) === false) continue;
        $frames = $socket->recvMulti();
        if ($frames === false) continue;
        $ack = json_decode($frames[1], true, 16, JSON_THROW_ON_ERROR);
        if ($ack['status'] !== 'busy') return $ack;
        usleep((int) (1e6 * max(0, min($ack['retry_after_ms'] / 1000, $deadline - now()))));
    }
    return null;
}

if ($argc < 4 || $argc > 6) {
    echo "usage: producer.php ENDPOINT APP TOKEN [TEXT [ID]]\n";
    exit(64);
}
[, $endpoint, $app, $token] = $argv;
$id = $argv[5] ?? bin2hex(random_bytes(16));
try {
    $envelope = ['id' => $id, 'app' => $app, 'to' => ['tokens' => [$token]], 'alert' => $argv[4] ?? 'Hello'];
    $ack = push($endpoint, $envelope, (float) (getenv('PATIENCE') ?: 60));
} catch (ZMQSocketException | JsonException $error) {
    fwrite(STDERR, "cannot send to $endpoint: {$error->getMessage()}\n");
    exit(64);
}
if ($ack === null) {
    fwrite(STDERR, "$id: no final answer; send the message again with the same id\n");
    exit(75);
}
echo json_encode($ack), "\n";
exit($ack['status'] === 'rejected' ? 1 : 0);
