/// The reason why a request is answered without a handler: a status and one sentence for the client.
package struct HTTP1Refusal: Error, Equatable, Sendable {
    /// Writes the answer to a refused request; its status must be that of the refusal. Called on the loop. The method is
    /// nil if the request line was not understood.
    package typealias Writer = (HTTP1Refusal, HTTP1Method?) -> HTTP1Response

    package let status: Int
    package let sentence: String

    init(_ status: Int, because sentence: String) {
        self.status = status
        self.sentence = sentence
    }

    /// The answer of a server without a writer.
    var plainAnswer: HTTP1Response {
        let text = "\(status) \(HTTP1Status.phrase(of: status)): \(sentence)\n"
        return HTTP1Response(status: status, headers: ["Content-Type": "text/plain"], body: Array(text.utf8))
    }

    /// Returns an answer with the header fields that HTTP demands for its status.
    static func complete(_ answer: HTTP1Response) -> HTTP1Response {
        var headers = answer.headers
        switch answer.status {
        // RFC 9110, section 15.5.6, requires the list of allowed methods.
        case 405 where headers["Allow"] == nil:
            headers.add("Allow", value: HTTP1Method.allCases.map(\.rawValue).joined(separator: ", "))
        case 503 where headers["Retry-After"] == nil: headers.add("Retry-After", value: "1")
        default: break
        }
        return HTTP1Response(status: answer.status, headers: headers, body: answer.body)
    }
}
