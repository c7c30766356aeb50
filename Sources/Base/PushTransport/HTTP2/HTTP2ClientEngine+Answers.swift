/// The frames of answers.
extension HTTP2ClientEngine {
    // MARK: Fields

    func processHeaders(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        let head = unsafe frame.head
        let stream = try unsafe stream(of: head)
        if let stream = unsafe stream, unsafe stream.pointee.answer.isComplete {
            throw HTTP2Violation(.streamClosed, "HEADERS on stream \(head.stream) after its end")
        }
        var fields = try unsafe frame.unpadded()
        if head.has(HTTP2FrameFlag.priority) {
            guard fields.count >= 5 else {
                throw HTTP2Violation(.frameSizeError, "HEADERS with \(fields.count) bytes of a priority")
            }
            unsafe fields = UnsafeRawBufferPointer(rebasing: fields[5...])
        }
        input.block = .init(stream: head.stream, endsStream: head.has(HTTP2FrameFlag.endStream))
        // A final head after an interim one (1xx) starts again.
        if let stream = unsafe stream, unsafe stream.pointee.answer.begin() {
            unsafe stream.pointee.message.reset()
            unsafe stream.pointee.isTruncated = false
        }
        let isLast = head.has(HTTP2FrameFlag.endHeaders)
        if isLast, let stream = unsafe stream, unsafe !stream.pointee.answer.hasHead {
            if unsafe !input.repeatedHead.take(fields, on: stream) {
                input.repeatedHead.forget()
                try unsafe decode(fields, isLast: true, on: stream)
                unsafe input.repeatedHead.keep(fields, of: stream)
            }
            unsafe endBlock(on: stream)
        } else {
            input.repeatedHead.forget()
            try unsafe decode(fields, isLast: isLast, on: stream)
            if isLast { unsafe endBlock(on: stream) }
        }
    }

    func processContinuation(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        let head = unsafe frame.head
        guard let block = input.block, block.stream == head.stream else {
            throw HTTP2Violation(.protocolError, "CONTINUATION on stream \(head.stream) without a header block")
        }
        guard block.continuations < HTTP2ClientInput.maxContinuations else {
            throw HTTP2Violation(flood: .excessiveFields)
        }
        input.block?.continuations += 1
        let isLast = head.has(HTTP2FrameFlag.endHeaders)
        let stream = unsafe streams.find(block.stream)
        try unsafe decode(frame.payload, isLast: isLast, on: stream)
        if isLast { unsafe endBlock(on: stream) }
    }

    /// - Parameter stream: The stream of the fields; nil if it has ended. They are decoded all the same, because they change
    ///   the table.
    private func decode(
        _ fields: UnsafeRawBufferPointer, isLast: Bool, on stream: UnsafeMutablePointer<HTTP2ClientStream>?
    ) throws(HTTP2Violation) {
        try unsafe decoder.decode(fields, isLast: isLast) { (field) throws(HTTP2Violation) in
            try unsafe input.count(field)
            if let stream = unsafe stream { unsafe take(field, on: stream) }
        }
    }

    private func endBlock(on stream: UnsafeMutablePointer<HTTP2ClientStream>?) {
        guard let block = input.block.take(), let stream = unsafe stream else { return }
        if unsafe !stream.pointee.answer.endBlock(endsStream: block.endsStream, isHead: stream.pointee.isHead) {
            unsafe reset(stream, code: .protocolError)
        } else if unsafe stream.pointee.answer.isComplete {
            unsafe answered(stream)
        }
    }

    private func take(_ field: HTTP2Field, on stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        guard unsafe stream.pointee.answer.check(field) == .keep else { return }
        let isKept = unsafe stream.pointee.message.appendField(
            name: field.name, value: field.value, limit: limits.maxFieldBytes)
        if !isKept { unsafe stream.pointee.isTruncated = true }
    }

    // MARK: Body

    func processData(_ frame: HTTP2Frame) throws(HTTP2Violation) {
        let head = unsafe frame.head
        let stream = try unsafe stream(of: head)
        try countReceived(head.length)
        guard let stream = unsafe stream else { return }
        if unsafe stream.pointee.answer.isComplete {
            throw HTTP2Violation(.streamClosed, "DATA on stream \(head.stream) after its end")
        }
        let body = try unsafe frame.unpadded()
        unsafe stream.pointee.received += head.length
        if unsafe stream.pointee.received > input.streamWindow {
            unsafe reset(stream, code: .flowControlError)
            return
        }
        let isKept = unsafe stream.pointee.message.appendBody(body, limit: limits.maxBodyBytes)
        if !isKept { unsafe stream.pointee.isTruncated = true }
        let endsStream = head.has(HTTP2FrameFlag.endStream)
        guard unsafe stream.pointee.answer.body(body.count), unsafe !endsStream || stream.pointee.answer.end() else {
            unsafe reset(stream, code: .protocolError)
            return
        }
        if endsStream {
            unsafe answered(stream)
        } else if unsafe 2 * stream.pointee.received >= input.streamWindow {
            unsafe output.extendWindow(of: head.stream, by: stream.pointee.received)
            unsafe stream.pointee.received = 0
        }
    }

    /// Counts bytes of bodies, also those that are not used, and extends the window of the connection.
    private func countReceived(_ count: Int) throws(HTTP2Violation) {
        input.received += count
        if input.received > HTTP2ClientOutput.defaultWindow {
            throw HTTP2Violation(.flowControlError, "DATA that exceed the window of the connection")
        }
        if 2 * input.received >= HTTP2ClientOutput.defaultWindow {
            output.extendWindow(of: 0, by: input.received)
            input.received = 0
        }
    }

    // MARK: End

    /// Ends a request with its answer. A request that is not yet written as a whole goes on first, unless it is refused:
    /// the peer need not take the rest of it.
    private func answered(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        if unsafe stream.pointee.requestEnd == nil {
            guard unsafe stream.pointee.answer.status >= 400 else { return }
            unsafe output.reset(stream.pointee.id, code: .cancel)
        }
        unsafe report(stream)
    }

    /// Ends a stream because of what the peer has sent on it.
    func reset(_ stream: UnsafeMutablePointer<HTTP2ClientStream>, code: HTTP2ErrorCode) {
        unsafe output.reset(stream.pointee.id, code: code)
        unsafe end(stream, code: code)
    }
}
