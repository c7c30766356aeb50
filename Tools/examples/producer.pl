#!/usr/bin/env perl
# Sends one notification to Carillon and waits for its status: producer.pl ENDPOINT APP TOKEN [TEXT [ID]]
#
# Exit status: 0 accepted or duplicate, 1 rejected, 75 no final answer (keep the message and run this again with the
# same ID: each device receives it once). The variable PATIENCE is the time limit in seconds (60).
# Needs libzmq-ffi-perl.
use v5.20;
use warnings;
use JSON::PP qw(encode_json decode_json);
use List::Util qw(max min);
use Time::HiRes qw(clock_gettime sleep CLOCK_MONOTONIC);
use ZMQ::FFI qw(ZMQ_DEALER ZMQ_LINGER ZMQ_SNDTIMEO ZMQ_RCVTIMEO);

use constant ANSWER_TIME => 2;     # seconds after which the request is sent again
use constant ZMQ_IMMEDIATE => 39;  # ZMQ::FFI has no name for it

sub now { clock_gettime(CLOCK_MONOTONIC) }

# Returns the final ack, or undef after `$patience` seconds without one.
sub push_message {
    my ($endpoint, $envelope, $patience) = @_;
    my $context = ZMQ::FFI->new;
    my $socket = $context->socket(ZMQ_DEALER);
    $socket->set($_->[0], 'int', $_->[1])
        for [ZMQ_LINGER, 0], [ZMQ_IMMEDIATE, 1], [ZMQ_SNDTIMEO, 1000 * ANSWER_TIME], [ZMQ_RCVTIMEO, 1000 * ANSWER_TIME];
    unless (eval { $socket->connect($endpoint); 1 }) {
        print STDERR "cannot connect to $endpoint: $@";
        exit 64;
    }
    # An error of the next calls is a timeout: no connection, or no answer. Then the same request is sent again, with
    # the same id.
    $socket->die_on_error(0);
    my $request = encode_json($envelope);
    my $deadline = now() + $patience;
    while (now() < $deadline) {
        $socket->send_multipart(['push/1', $request]);
        next if $socket->has_error;
        my @frames = $socket->recv_multipart;
        next if $socket->has_error;
        my $ack = decode_json($frames[1]);
        return $ack if $ack->{status} ne 'busy';
        sleep(max(0, min($ack->{retry_after_ms} / 1000, $deadline - now())));
    }
    return undef;
}

if (@ARGV < 3 || @ARGV > 5) {
    say 'usage: producer.pl ENDPOINT APP TOKEN [TEXT [ID]]';
    exit 64;
}
utf8::decode($_) for @ARGV;
my ($endpoint, $app, $token, $text, $id) = @ARGV;
$id //= sprintf '%x-%x-%x', int(1e6 * Time::HiRes::time()), $$, int(rand(2**32));
my $envelope = { id => $id, app => $app, to => { tokens => [$token] }, alert => $text // 'Hello' };
my $ack = push_message($endpoint, $envelope, $ENV{PATIENCE} // 60);
unless ($ack) {
    print STDERR "$id: no final answer; send the message again with the same id\n";
    exit 75;
}
say encode_json($ack);
exit($ack->{status} eq 'rejected' ? 1 : 0);
