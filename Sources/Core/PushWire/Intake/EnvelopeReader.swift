package import PushModel
package import PushTime

/// The rejection of an envelope, and the message that it concerns.
package struct EnvelopeFault: Error, Sendable, Equatable {
    /// The id as the producer gave it, valid or not, if it could be read: at most 128 bytes, for the ack.
    package let id: String?
    package let rejection: Rejection
    /// Nil if the envelope names no known app.
    package let app: AppID?
    /// The family that the envelope names; nil for an app.
    package let family: Family?

    package init(id: String?, rejection: Rejection, app: AppID?, family: Family? = nil) {
        self.id = id
        self.rejection = rejection
        self.app = app
        self.family = family
    }
}

/// Parses the envelopes of producers. Each event loop has its own reader, which reuses its memory.
package final class EnvelopeReader {
    /// The largest number of lines in one batch.
    package static let maxLines = 10_000
    /// The largest length of an envelope: room for 100,000 names of the longest kind and the largest payload. Longer
    /// envelopes are not parsed.
    package static let maxEnvelopeLength = 32 << 20

    package let apps: AppTable
    private var parser = EnvelopeParser()

    package init(apps: AppTable) {
        precondition(EnvelopeKey.count == EnvelopeKey.Positions.count, "each key of an envelope needs a position")
        self.apps = apps
    }

    /// Parses one envelope.
    ///
    /// - Parameter payload: Frame 3, if there was one.
    package func read(
        _ envelope: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer?, now: UnixSeconds
    ) throws(EnvelopeFault) -> PushRequest {
        try parser.request(
            in: unsafe ByteView(borrowing: envelope), payload: unsafe payload.map { unsafe ByteView(borrowing: $0) },
            apps: apps, now: now)
    }

    /// Parses one frame with an envelope on each line and calls `each` for every line in order, also for invalid ones.
    /// Throws before the first call if there are no lines or too many.
    package func readBatch(
        _ lines: UnsafeRawBufferPointer, now: UnixSeconds,
        each: (consuming Result<PushRequest, EnvelopeFault>) -> Void
    ) throws(Rejection) {
        let lines = unsafe ByteView(borrowing: lines)
        let count = JSONLines.count(lines, limit: Self.maxLines)
        guard count > 0 else { throw Rejection(.badFrame, detail: "there is no line in the frame") }
        guard count <= Self.maxLines else {
            throw Rejection(.tooMany, detail: "there are more than \(Self.maxLines) lines")
        }
        defer { parser.trim(after: lines.count) }
        var start = 0
        while start < lines.count {
            let end = JSONLines.end(in: lines, from: start)
            each(parser.result(ofLine: start..<end, in: lines, apps: apps, now: now))
            start = end + 1
        }
    }
}

/// The memory of an ``EnvelopeReader``. Its methods are those of a value, so that exclusive access to it is checked once
/// for each envelope.
private struct EnvelopeParser: ~Copyable {
    /// The length above which the memory for an envelope is released again; such envelopes are rare.
    private static let usualLength = 1 << 20

    private var index = JSONIndex()
    /// The index for payloads outside of the envelope, whose own index is still in use at that time.
    private var payloadIndex = JSONIndex()
    private var moments = LocalMoments()

    mutating func trim(after length: Int) {
        if length > Self.usualLength { index.trim() }
    }

    mutating func request(
        in envelope: ByteView, payload: ByteView?, apps: AppTable, now: UnixSeconds
    ) throws(EnvelopeFault) -> PushRequest {
        try checkLength(envelope, apps: apps)
        defer { trim(after: envelope.count) }
        return try request(in: index.padded(envelope), payload: payload, apps: apps, now: now)
    }

    mutating func result(
        ofLine range: Range<Int>, in lines: ByteView, apps: AppTable, now: UnixSeconds
    ) -> Result<PushRequest, EnvelopeFault> {
        let line = lines[range]
        do throws(EnvelopeFault) {
            try checkLength(line, apps: apps)
            // Most lines are followed by enough readable bytes; only the last ones are copied to padded memory.
            let text = PaddedText(range, of: lines) ?? index.padded(line)
            return .success(try request(in: text, payload: nil, apps: apps, now: now))
        } catch {
            return .failure(error)
        }
    }

    private mutating func request(
        in text: PaddedText, payload: ByteView?, apps: AppTable, now: UnixSeconds
    ) throws(EnvelopeFault) -> PushRequest {
        let verdict = index.read(text)
        guard let json = index.values(in: text) else {
            throw EnvelopeFault(id: nil, rejection: Self.rejection(of: text, verdict: verdict), app: nil)
        }
        var reading = EnvelopeReading(json, apps: apps, now: now)
        let rejection: Rejection
        if verdict == .json {
            do throws(Rejection) {
                return try reading.request(payload: payload, index: &payloadIndex, moments: &moments)
            } catch {
                rejection = error
            }
        } else {
            rejection = Self.rejection(of: text, verdict: verdict)
            // Finds the id if it precedes the error.
            reading.gatherMembers()
        }
        throw EnvelopeFault(
            id: reading.idAsGiven, rejection: rejection, app: reading.namedApp, family: reading.namedFamily)
    }

    /// Returns the rejection of invalid JSON. ``JSONDocument`` parses the text again to find position and cause.
    private static func rejection(of text: PaddedText, verdict: JSONIndex.Verdict) -> Rejection {
        if verdict == .noMemory {
            return Rejection(.badFrame, detail: "there is not enough memory for \(text.count) bytes")
        }
        if verdict == .tooDeep { return Rejection(.badJSON, detail: JSONError.Code.tooDeep.rawValue) }
        do throws(JSONError) {
            _ = try JSONDocument(text.view.copied)
            return Rejection(.badJSON, detail: "it is not JSON")
        } catch {
            return Rejection(.badJSON, detail: "\(error)")
        }
    }

    // MARK: Too long

    private mutating func checkLength(_ envelope: ByteView, apps: AppTable) throws(EnvelopeFault) {
        guard envelope.count > EnvelopeReader.maxEnvelopeLength else { return }
        // The envelope is not stored; its strings are only counted, since each name is one.
        let isCrowded = JSONLines.hasMoreQuotes(envelope, than: 2 * Audience.maxNames)
        let rejection =
            isCrowded
            ? Rejection(
                .tooMany, detail: "more than \(Audience.maxNames) names, the largest number for one message")
            : Rejection(
                .badFrame,
                detail: "\(envelope.count) bytes; an envelope has at most \(EnvelopeReader.maxEnvelopeLength)")
        throw EnvelopeFault(id: idAtFront(of: envelope, apps: apps), rejection: rejection, app: nil)
    }

    /// Returns the id of an envelope that is not parsed, if it comes first, as it usually does.
    private mutating func idAtFront(of envelope: ByteView, apps: AppTable) -> String? {
        let front = envelope.prefix(4096)
        // A text cut within a string is not parsed at all. So it is cut after each comma in turn, from the left.
        for end in 0..<front.count where front[end] == UInt8(ascii: ",") {
            let text = index.padded(front.prefix(end))
            guard index.read(text) == .notJSON, let json = index.values(in: text) else { continue }
            var reading = EnvelopeReading(json, apps: apps, now: UnixSeconds(0))
            reading.gatherMembers()
            if let id = reading.idAsGiven { return id }
        }
        return nil
    }
}
