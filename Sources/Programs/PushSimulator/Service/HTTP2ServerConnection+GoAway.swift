import PushTransport

extension HTTP2ServerConnection {
    /// Sends a GOAWAY frame. It overtakes the bodies of answers and ends the streams above its last one, so pending
    /// answers are sent first.
    func send(_ goAway: Reaction.GoAway) {
        flushNow()
        engine.goAway(
            lastStream: goAway.lastStream, code: HTTP2ErrorCode(rawValue: goAway.code), debugData: goAway.text)
        if goAway.closes { closeAfterFlush() }
        flush()
    }
}
