/// The events of the channel.
extension HTTP1Connection: ChannelHandler {
    package func channelOpened(_ channel: Channel) {
        guard case .opening = phase else { return }
        phase = .reading
        switch admission {
        case _ where server.isDraining: closeWhenSent()
        case .served: waitForFirstRequest()
        case .refused:
            refuse(
                HTTP1Refusal(503, because: "all \(limits.connections) connections are in use"), isHead: false)
        }
    }

    package func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        unsafe take(bytes)
    }

    package func channelWantsOutput(_ channel: Channel) {
        resume()
        finishIfSent()
    }

    package func channelSentOutput(_ channel: Channel) {
        countOutput()
        switch phase {
        case .answering, .resting, .finishing:
            // The client has read something, so its time begins anew.
            deadline.clear()
            if channel.outputBacklog > 0 { outputWasAdded() }
        case .opening, .reading, .closing, .closed: break
        }
        resume()
        finishIfSent()
        drainIfWanted()
    }

    package func channelInputEnded(_ channel: Channel) -> Bool {
        switch phase {
        case .resting where incoming.isEmpty, .finishing:
            // The answer is complete, and the client may only have closed its sending side.
            phase = .finishing
            finishIfSent()
            return true
        case .reading where incoming.isEmpty && channel.outputBacklog > 0:
            phase = .finishing
            deadline.clear()
            outputWasAdded()
            return true
        case .opening, .reading, .answering, .resting, .closing, .closed: return false
        }
    }

    package func channel(_ channel: Channel, closed reason: ChannelClosure) {
        hasClosed()
    }
}
