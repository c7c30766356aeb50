/// The requests to the control port about the simulated FCM.
extension FCMService {
    private static let help = """
        GET  /fcm/received   the messages that had a valid access token, one on each line
        GET  /fcm/counts     messages, and requests for access tokens
        POST /fcm/revoke     makes all access tokens invalid, as Google does if a key is deleted

        GET  /fcm/faults     the fault rules, and how often each was applied
        PUT  /fcm/faults     replace the rules (JSON5); GET / explains them
        POST /fcm/faults     append rules; DELETE removes all

        Rules are for messages with which nothing is wrong. They match connection,
        request, after, every and share, and have the effects answer, goaway, reset,
        silence (of one answer) and close, and latency. The reason of an answer is one
        of Google, or HTML, GARBAGE or HUGE for a body that is not in its form:

        curl -X PUT --data '{rules: [{times: 5, answer: {status: 429, reason: "QUOTA_EXCEEDED", retry_after: 2}}]}' ADDRESS/fcm/faults

        A message to an address that begins with a code of FCM, such as UNREGISTERED-1,
        gets that answer: UNREGISTERED, INVALID_ARGUMENT, SENDER_ID_MISMATCH,
        QUOTA_EXCEEDED, UNAVAILABLE, INTERNAL, THIRD_PARTY_AUTH_ERROR.

        """

    func control(_ request: ControlRequest) -> ControlResponse {
        switch (request.method, request.path) {
        case ("GET", "/fcm/received"): return .lines(received)
        case ("GET", "/fcm/counts"):
            return .json { text in
                text.member("messages", number: machine.records.count)
                text.member("taken", number: machine.records.count { $0.name != nil })
                text.member("unauthenticated", number: machine.unauthenticated)
                text.member("token_requests", number: machine.mints)
                text.member("tokens", number: machine.granted)
            }
        case ("POST", "/fcm/revoke"):
            machine.revokeTokens()
            return .json { _ in }
        case (_, "/fcm/faults"):
            do throws(ControlError) {
                return try faults.control(request, check: FCMReaction.check)
            } catch {
                return error.response
            }
        case ("GET", "/fcm/"): return .text(Self.help)
        default:
            var response = ControlResponse.text(Self.help)
            response.status = 404
            return response
        }
    }

    private var received: [UInt8] {
        var text = JSONText()
        for record in machine.records {
            text.object { text in
                text.member("target", string: record.message.target)
                text.member("kind", string: record.message.kind)
                text.member("validate_only", boolean: record.message.isValidatedOnly)
                if let name = record.name { text.member("name", string: name) }
                var content = JSONText()
                content.tree(record.message.content)
                text.member("message", json: content.bytes)
            }
            text.newline()
        }
        return text.bytes
    }
}
