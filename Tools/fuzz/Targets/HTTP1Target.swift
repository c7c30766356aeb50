@testable import PushTransport

extension FuzzTarget {
    /// HTTP/1.1 requests: the result does not depend on how the bytes are split.
    static let http1Request = FuzzTarget(
        name: "http1-request",
        seeds: {
            [
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b?c=d%20e HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST /a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
                "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
                "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                "\r\nHEAD /%C3%A9 HTTP/1.1\r\nHost: \r\n\r\n",
            ].map { [7] + Array($0.utf8) }
        },
        run: { input in
            let size = input.byte()
            var limits = HTTP1Limits()
            if size & 1 == 1 {
                limits.headerBytes = 300
                limits.headerCount = 4
                limits.bodyBytes = 200
            }
            let request = input.rest()
            let whole = readRequests(request, in: max(1, request.count), limits)
            let cut = readRequests(request, in: 1 + Int(size >> 1), limits)
            require(whole == cut, "split into pieces, the bytes are parsed as\n\(cut)\ninstead of\n\(whole)")
        })
}

private func readRequests(_ bytes: [UInt8], in size: Int, _ limits: HTTP1Limits) -> [String] {
    var machine = HTTP1RequestMachine(limits: limits)
    var queue = ByteQueue()
    var steps: [String] = []
    var isRefused = false
    unsafe bytes.inPieces(of: size) { piece in
        unsafe queue.append(piece)
        reading: while !isRefused {
            _ = machine.stage(with: queue)
            switch machine.next(&queue) {
            case .needsMore:
                break reading
            case .expectsContinue:
                steps.append("continue?")
            case .request(let head, let body):
                require(body.count <= limits.bodyBytes, "a body exceeds the limit")
                require(head.headers.all("Host").count <= 1, "two Host headers")
                require(head.path.allSatisfy { $0 != ".." && !$0.utf8.contains(0) }, "the path contains .. or NUL")
                steps.append("\(head) \(body)")
            case .refused(let refusal, let isHead):
                require((400...599).contains(refusal.status), "rejected with status \(refusal.status)")
                steps.append("\(refusal) \(isHead)")
                isRefused = true
            }
        }
        if isRefused { queue.removeAll() }
        require(queue.count <= max(limits.headerBytes, 256) + 2, "\(queue.count) bytes are buffered")
    }
    return steps
}
