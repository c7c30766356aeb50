import PushPipeline
import Testing

@Suite struct PipelineLimitsTests {
    @Test("Fewer messages may be loaded than may wait") func whatIsLoadedIsLessThanWhatMayWait() {
        let limits = PipelineLimits()
        #expect(limits.loadedMessages < limits.backlog)
    }
}
