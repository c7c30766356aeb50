#!/usr/bin/env ruby
# Sends one notification to Carillon and waits for its status: producer.rb ENDPOINT APP TOKEN [TEXT [ID]]
#
# Exit status: 0 accepted or duplicate, 1 rejected, 75 no final answer (keep the message and run this again with the
# same ID: each device receives it once). The variable PATIENCE is the time limit in seconds (60).
# Needs ruby-ffi-rzmq.
require 'ffi-rzmq'
require 'json'
require 'securerandom'

ANSWER_TIME = 2 # seconds after which the request is sent again

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Returns the final ack, or nil after `patience` seconds without one.
def push(endpoint, envelope, patience)
  socket = ZMQ::Context.new.socket(ZMQ::DEALER)
  socket.setsockopt(ZMQ::LINGER, 0)
  socket.setsockopt(ZMQ::IMMEDIATE, 1) # Nothing is queued for a connection that does not exist yet.
  socket.setsockopt(ZMQ::SNDTIMEO, ANSWER_TIME * 1000)
  socket.setsockopt(ZMQ::RCVTIMEO, ANSWER_TIME * 1000)
  # With CURVE, set ZMQ::CURVE_SERVERKEY, CURVE_PUBLICKEY and CURVE_SECRETKEY to 40 characters each.
  unless ZMQ::Util.resultcode_ok?(socket.connect(endpoint))
    warn "cannot connect to #{endpoint}: #{ZMQ::Util.error_string}"
    exit 64
  end
  request = JSON.generate(envelope)
  deadline = now + patience
  while now < deadline
    next if socket.send_strings(['push/1', request]) < 0 # not connected
    frames = []
    next if socket.recv_strings(frames) < 0 # no answer: the same request again, with the same id
    ack = JSON.parse(frames[1])
    return ack unless ack['status'] == 'busy'
    sleep([[ack['retry_after_ms'] / 1000.0, deadline - now].min, 0].max)
  end
end

if ARGV.size < 3 || ARGV.size > 5
  puts 'usage: producer.rb ENDPOINT APP TOKEN [TEXT [ID]]'
  exit 64
end
endpoint, app, token, text, id = ARGV
id ||= SecureRandom.uuid
envelope = { id: id, app: app, to: { tokens: [token] }, alert: text || 'Hello' }
ack = push(endpoint, envelope, Float(ENV.fetch('PATIENCE', '60')))
if ack.nil?
  warn "#{id}: no final answer; send the message again with the same id"
  exit 75
end
puts JSON.generate(ack)
exit(ack['status'] == 'rejected' ? 1 : 0)
