/// The frames of the peer, apart from answers.
extension HTTP2ClientEngine {
    func process(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        let head = unsafe frame.head
        try check(head)
        switch head.type {
        case HTTP2FrameType.data: try unsafe processData(frame)
        case HTTP2FrameType.headers: try unsafe processHeaders(frame)
        case HTTP2FrameType.continuation: try unsafe processContinuation(frame)
        case HTTP2FrameType.settings: try unsafe processSettings(frame)
        case HTTP2FrameType.ping: try unsafe processPing(frame)
        case HTTP2FrameType.windowUpdate: try unsafe processWindowUpdate(frame)
        case HTTP2FrameType.reset: try unsafe processReset(frame)
        case HTTP2FrameType.goAway: try unsafe processGoAway(frame)
        case HTTP2FrameType.priority:
            try unsafe frame.require(5)
            if head.stream == 0 { throw HTTP2Violation(.protocolError, "PRIORITY of no stream") }
        case HTTP2FrameType.pushPromise:
            throw HTTP2Violation(.protocolError, "PUSH_PROMISE, which this side has disabled")
        default: break
        }
    }

    private func check(_ head: HTTP2FrameHead) throws(HTTP2Violation) {
        let isSettings = head.type == HTTP2FrameType.settings
        let isAck = head.has(HTTP2FrameFlag.ack)
        if !input.hasSettings, !isSettings || isAck {
            throw HTTP2Violation(.protocolError, "the first frame is not SETTINGS")
        }
        if input.block != nil, head.type != HTTP2FrameType.continuation {
            throw HTTP2Violation(.protocolError, "a header block without its end")
        }
        // The output limits the frames that this side must acknowledge.
        if isSettings || head.type == HTTP2FrameType.ping, !isAck { return }
        if !input.credit.take() { throw HTTP2Violation(flood: .idleFrames) }
    }

    /// Returns the stream of a frame; nil if it has ended.
    func stream(of head: HTTP2FrameHead) throws(HTTP2Violation) -> UnsafeMutablePointer<HTTP2ClientStream>? {
        guard head.stream & 1 == 1, head.stream <= output.lastTaken else {
            throw HTTP2Violation(
                .protocolError, "a frame of type \(head.type) on stream \(head.stream), which is not open")
        }
        return unsafe streams.find(head.stream)
    }

    // MARK: SETTINGS

    private func processSettings(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        try unsafe frame.requireConnection()
        if unsafe frame.head.has(HTTP2FrameFlag.ack) {
            try unsafe frame.require(0)
            guard input.awaitsAck else { throw HTTP2Violation(.protocolError, "SETTINGS acknowledged twice") }
            input.awaitsAck = false
            return
        }
        let payload = unsafe frame.payload
        guard payload.count % 6 == 0 else {
            throw HTTP2Violation(.frameSizeError, "SETTINGS with \(payload.count) bytes")
        }
        guard payload.count <= 6 * Self.maxSettings else { throw HTTP2Violation(flood: .controlFrames) }
        for offset in stride(from: 0, to: payload.count, by: 6) {
            let id = unsafe UInt16(bigEndian: payload.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            let value = unsafe UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: offset + 2, as: UInt32.self))
            try apply(value, of: id)
        }
        input.hasSettings = true
        try output.acknowledgeSettings()
        let limit = min(Int(input.peerLimit), limits.maxStreams)
        streamLimit = limit
        reporter?.http2Settings(streamLimit: limit)
    }

    /// The number of settings in a frame. There are fewer than ten.
    private static var maxSettings: Int { 32 }

    private func apply(_ value: UInt32, of id: UInt16) throws(HTTP2Violation) {
        switch id {
        case HTTP2Settings.headerTableSizeID: output.setTableSize(value)
        case HTTP2Settings.enablePushID:
            if value != 0 { throw HTTP2Violation(.protocolError, "SETTINGS with ENABLE_PUSH \(value)") }
        case HTTP2Settings.maxConcurrentStreamsID: input.peerLimit = value
        case HTTP2Settings.initialWindowSizeID: try output.setInitialWindow(value, for: streams)
        case HTTP2Settings.maxFrameSizeID: try output.setMaxPayload(value)
        default: break
        }
    }

    // MARK: Others

    private func processPing(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        try unsafe frame.requireConnection()
        try unsafe frame.require(8)
        let payload = unsafe UInt64(bigEndian: frame.payload.loadUnaligned(as: UInt64.self))
        if unsafe frame.head.has(HTTP2FrameFlag.ack) {
            pingAnswered?(payload)
        } else {
            try output.ping(payload, isAnswer: true)
        }
    }

    private func processWindowUpdate(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        try unsafe frame.require(4)
        let count = unsafe Int(frame.payload.baseAddress!.loadInt31())
        guard unsafe frame.head.stream != 0 else {
            if count == 0 { throw HTTP2Violation(.protocolError, "WINDOW_UPDATE by 0") }
            try output.extend(by: count)
            return
        }
        guard let stream = try unsafe stream(of: frame.head) else { return }
        if count == 0 {
            unsafe reset(stream, code: .protocolError)
        } else if unsafe !output.extend(stream, by: count) {
            unsafe reset(stream, code: .flowControlError)
        }
    }

    private func processReset(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        try unsafe frame.require(4)
        guard let stream = try unsafe stream(of: frame.head) else { return }
        input.credit.allowOne()
        unsafe end(stream, code: HTTP2ErrorCode(rawValue: frame.payload.baseAddress!.loadUInt32()))
    }

    private func processGoAway(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        try unsafe frame.requireConnection()
        let payload = unsafe frame.payload
        guard payload.count >= 8, let start = payload.baseAddress else {
            throw HTTP2Violation(.frameSizeError, "GOAWAY with \(payload.count) bytes")
        }
        let last = unsafe start.loadInt31()
        if let goAway, goAway.lastStream < last {
            throw HTTP2Violation(.protocolError, "GOAWAY with a higher stream than before")
        }
        let received = unsafe HTTP2GoAway(
            lastStream: last, code: HTTP2ErrorCode(rawValue: (start + 4).loadUInt32()),
            debugData: Array(payload.dropFirst(8).prefix(1024)))
        goAway = received
        output.dropUnsent(after: last)
        reporter?.http2GoAway(received)
        while let stream = unsafe streams.last, unsafe stream.pointee.id > last {
            unsafe end(stream, code: .refusedStream)
        }
    }
}
