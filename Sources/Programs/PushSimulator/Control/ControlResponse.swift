/// The answer to a request to the control port.
package struct ControlResponse: Sendable {
    package var status: UInt16
    package var contentType: String
    package var body: [UInt8]

    static func json(_ status: UInt16 = 200, with write: (inout JSONText) -> Void) -> ControlResponse {
        var text = JSONText()
        text.object(with: write)
        text.newline()
        return ControlResponse(status: status, contentType: "application/json", body: text.bytes)
    }

    static func lines(_ bytes: [UInt8]) -> ControlResponse {
        ControlResponse(status: 200, contentType: "application/x-ndjson", body: bytes)
    }

    static func text(_ text: String) -> ControlResponse {
        ControlResponse(status: 200, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }
}
