import PushLoop

/// The consumer's half of one subscription.
final class EventFeed {
    private let body: ClientBody
    private let settings: ClientSettings
    private let prefix: String
    private let start: EventStart

    private var subscriber: Subscriber?
    private var cursor: CursorFile?
    private var deliveries: ArraySlice<SubscriberMachine.Delivery> = []
    private var lines: (lines: EventLines, next: Int)?
    /// The position after what was taken. The last event of the current lines is not in it until ``settle()``.
    private var taken = EventPosition()
    private var isOpen = false
    private var hasEnded = false
    private var isDirty = false
    private var lastStored = ContinuousClock.now

    init(body: ClientBody, settings: ClientSettings, prefix: String, start: EventStart) {
        self.body = body
        self.settings = settings
        self.prefix = prefix
        self.start = start
    }

    deinit {
        settle()
        close()
    }

    var position: EventPosition {
        settle()
        return taken
    }

    func next(isolation actor: isolated (any Actor)?) async throws(EventError) -> CarillonEvent? {
        if !isOpen { try await open(isolation: actor) }
        if cursor != nil, ContinuousClock.now - lastStored >= settings.cursorInterval {
            settle()
            store()
        }
        while !hasEnded {
            if let event = nextLine() { return event }
            settle()
            lines = nil
            switch deliveries.popFirst() {
            case .lines(let lines, let first): self.lines = (lines, first)
            case .mark(let number, let part):
                taken.raise(to: number, inPart: part)
                isDirty = true
            case .failure(let error, let position):
                taken = position
                isDirty = true
                close()
                throw error
            case nil: try await fill(isolation: actor)
            }
        }
        return nil
    }

    /// Returns the next event of the current lines. Lines that are not JSON are skipped.
    private func nextLine() -> CarillonEvent? {
        while let (lines, next) = lines, next < lines.lines.count {
            self.lines?.next = next + 1
            let line = lines.lines[next]
            let bytes = Array(lines.bytes[line.range])
            if let event = CarillonEvent(bytes, number: line.number, part: lines.part, topic: lines.topic) {
                return event
            }
        }
        return nil
    }

    /// Counts the events of the current lines that were handed out.
    private func settle() {
        guard let (lines, next) = lines, next > 0, next <= lines.lines.count else { return }
        taken.take(lines.lines[next - 1].number, of: lines.topic, inPart: lines.part)
        isDirty = true
    }

    /// Waits for more.
    private func fill(isolation actor: isolated (any Actor)?) async throws(EventError) {
        guard let subscriber else { return close() }
        store()
        if let error = cursor?.takeError() {
            close()
            throw .cursor(error)
        }
        let batch = await subscriber.buffer.next()
        deliveries = batch.deliveries[...]
        if batch.resumes {
            subscriber.loop.executeUnlessStopped { subscriber.assumeIsolated { $0.goOn() } }
        }
        if batch.isEnd { close() }
    }

    private func store() {
        guard isDirty, let cursor else { return }
        isDirty = false
        lastStored = .now
        cursor.store(taken)
    }

    // MARK: Opening and closing

    private func open(isolation actor: isolated (any Actor)?) async throws(EventError) {
        isOpen = true
        guard prefix.utf8.count <= 255 else {
            hasEnded = true
            throw .refused("the prefix has \(prefix.utf8.count) bytes; 255 are allowed")
        }
        let place: SubscriberMachine.Start
        do throws(EventError) {
            place = try await resolve(start.place)
        } catch {
            hasEnded = true
            throw error
        }
        if case .position(let position) = place { taken = position }
        let made = Subscriber(
            settings, prefix: prefix, start: place, context: body.context, on: body.loop,
            buffer: EventBuffer(limit: settings.maxBufferedEventBytes))
        guard body.add(made) else {
            hasEnded = true
            cursor?.release()
            throw .closed
        }
        subscriber = made
        made.loop.executeUnlessStopped { made.assumeIsolated { $0.start() } }
    }

    private func resolve(_ place: EventStart.Place) async throws(EventError) -> SubscriberMachine.Start {
        switch place {
        case .now: return .now
        case .position(let position): return .position(position)
        case .cursor(let path, let first):
            let cursor = try await body.cursor(path)
            guard cursor.use() else { throw .cursor("another subscription uses the cursor \(path)") }
            self.cursor = cursor
            if let position = cursor.position { return .position(position) }
            return try await resolve(first)
        }
    }

    private func close() {
        hasEnded = true
        store()
        cursor?.release()
        cursor = nil
        guard let subscriber = subscriber.take() else { return }
        body.remove(subscriber)
        subscriber.loop.executeUnlessStopped { subscriber.assumeIsolated { $0.close() } }
    }
}
