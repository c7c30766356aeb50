import PushLoop
