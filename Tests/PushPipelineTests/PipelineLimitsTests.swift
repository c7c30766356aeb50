import PushPipeline
import Testing

@Suite struct PipelineLimitsTests {
    @Test func whatIsLoadedIsLessThanWhatMayWait() {
        let limits = PipelineLimits()
        #expect(limits.loadedMessages < limits.backlog)
    }
}
